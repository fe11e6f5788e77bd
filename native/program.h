/* Programs: what the files that run them share. */

#ifndef TAPER_PROGRAM_H
#define TAPER_PROGRAM_H

#include <stdatomic.h>

#include "pool.h"

#define MOST_DIMS 8
#define MOST_ARGS 3

/* One operation over `count` elements: operands, then the result, with a step in bytes each, which
 * is 0 for an operand that is one element. */
typedef void (*Operation)(char **args, const npy_intp *steps, npy_intp count);

/* The operation of a name for elements of a NumPy type, as "add" of floats; NULL if NumPy has to do it. */
Operation operation_of(const char *name, int type);

/* How elements of one type become elements of another; NULL if that is not known. */
Operation conversion(int from, int to);

/* Sums, largest and smallest elements. */
enum { SUM, LARGEST, SMALLEST };

/* Put `count` elements in one piece together with what was found so far, a double or not. */
double reduce_run(int what, int is_double, const void *from, npy_intp count, double so_far);

/* The same for each column of `rows` rows of `columns` elements. */
void reduce_columns(int what, int is_double, const void *from, npy_intp rows, npy_intp columns, double *so_far);

/* What a reduction starts from. */
double reduction_start(int what);

/* Where an array lies: `base` is the number of a slot of the program. */
typedef struct {
    int base;
    npy_intp offset;
} Place;

/* A register of a group: memory that a block is in. */
enum { BLOCKED, DIRECT, SINGLE, GATHERED, SCATTERED, CONSTANT };
typedef struct {
    int kind, width, dims; /* width: bytes of an element */
    Place place;
    npy_intp scratch; /* of BLOCKED, GATHERED and SCATTERED: where in the memory of a thread */
    npy_intp lengths[MOST_DIMS], steps[MOST_DIMS]; /* of GATHERED and SCATTERED, in bytes */
    char value[16];
} Register;

typedef struct {
    Operation run; /* or, if NULL, NumPy's: */
    PyUFuncGenericFunction loop;
    void *data;
    int args; /* operands and the result */
    int registers[MOST_ARGS + 1];
} Instruction;

typedef struct {
    int what, from, is_double; /* from: a register */
    Place to;
    npy_intp outer, length, inner; /* of what is reduced, one of the first and the last is 1 */
} Reduction;

/* Element-wise operations, run block by block, and reductions of what they compute. */
typedef struct {
    npy_intp count, block, grain; /* elements, elements of a block, blocks of a chunk */
    npy_intp scratch;             /* bytes that a thread needs */
    int registers, instructions, reductions;
    Register *register_list;
    Instruction *instruction_list;
    Reduction *reduction_list;
    void (*_Atomic compiled)(char **registers, long count); /* in place of the instructions, if there is one */
} Group;

/* A group that runs: what its chunks reduce is put together at the end. */
typedef struct {
    const Group *group;
    char **bases;
    double *partial; /* of each chunk: what its reductions found */
    npy_intp partials, chunks; /* numbers of a chunk */
    double few[64];
} GroupWork;

/* Begin with a group, whose memory `bases` has, of each slot: 0 if there is no memory.  Then run all its blocks, in
 * whole chunks, and end. */
int begin_group(GroupWork *work, const Group *group, char **bases);
void run_blocks(void *work, npy_intp first, npy_intp stop);
void end_group(GroupWork *work);

/* All of that on the pool; -1 if there is no memory. */
int run_group(const Group *group, char **bases);

#endif
