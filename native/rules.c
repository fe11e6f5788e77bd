/* The update rule of an optimizer, run over arrays in one pass.
 *
 * A program is what `optim/programs.py` has written down of a rule: five bytes an instruction,
 * operation, target and up to three operands.  Operands are registers: first the columns (the
 * parameter, its gradient, its states), then the constants, then the temporaries.  It runs over
 * blocks that stay in the first-level cache, and rounds after each operation as NumPy does.
 */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "pool.h"

enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, SQRT, ABSOLUTE, MAXIMUM, MINIMUM, GREATER, LESS, WHERE };

#define BLOCK 1024
#define MOST_REGISTERS 32
#define GRAIN 16 /* blocks of a chunk for the pool */
#define INSTRUCTION 5
#define LINE 64 /* bytes of the cache */

/* NaN of either operand is the result, as in NumPy. */
#define GREATEST(x, y) ((x) >= (y) || (x) != (x) ? (x) : (y))
#define LEAST(x, y) ((x) <= (y) || (x) != (x) ? (x) : (y))

#define EACH(expression)                       \
    _Pragma("GCC ivdep") for (npy_intp i = 0; i < length; i++) { \
        target[i] = (expression);              \
    }                                          \
    break;

/* A constant, which is one element, stands for an array of itself. */
#define ALONE(change)                                    \
    if (constant[operand[0]]) {                          \
        const TYPE value = change(*first);               \
        EACH(value)                                      \
    } else {                                             \
        EACH(change(first[i]))                           \
    }

#define BOTH(combine)                                    \
    if (constant[operand[0]] && constant[operand[1]]) {  \
        const TYPE value = combine(*first, *second);     \
        EACH(value)                                      \
    } else if (constant[operand[0]]) {                   \
        const TYPE x = *first;                           \
        EACH(combine(x, second[i]))                      \
    } else if (constant[operand[1]]) {                   \
        const TYPE y = *second;                          \
        EACH(combine(first[i], y))                       \
    } else {                                             \
        EACH(combine(first[i], second[i]))               \
    }

#define MINUS_SIGN(x) (-(x))
#define PLUS(x, y) ((x) + (y))
#define MINUS(x, y) ((x) - (y))
#define TIMES(x, y) ((x) * (y))
#define OVER(x, y) ((x) / (y))
#define IS_GREATER(x, y) ((x) > (y))
#define IS_LESS(x, y) ((x) < (y))

/* Ask for a part of the next block, which begins where this one ends: the processor looks ahead within a page only,
 * and a block of floats is one.  AdamW over three million elements 6 to 3.2 ms, one thread. */
static inline void look_ahead(char **registers, int columns, npy_intp bytes, Py_ssize_t done, Py_ssize_t size) {
    const npy_intp start = bytes * done / size, stop = bytes * (done + INSTRUCTION) / size;
    for (int column = 0; column < columns; column++)
        for (npy_intp at = start / LINE * LINE; at < stop; at += LINE) __builtin_prefetch(registers[column] + bytes + at);
}

#define DEFINE_RUN(NAME, ROOT, MAGNITUDE)                                                          \
    WIDE static void NAME(const uint8_t *program, Py_ssize_t size, TYPE **registers, int columns, \
                          const char *constant, npy_intp length) {                                \
        for (const uint8_t *at = program; at < program + size; at += INSTRUCTION) {               \
            look_ahead((char **)registers, columns, length * (npy_intp)sizeof(TYPE), at - program, size); \
            const uint8_t *operand = at + 2;                                                      \
            TYPE *target = registers[at[1]];                                                      \
            const TYPE *first = registers[operand[0]], *second = registers[operand[1]];           \
            switch (at[0]) {                                                                      \
            case ADD: BOTH(PLUS) break;                                                           \
            case SUBTRACT: BOTH(MINUS) break;                                                     \
            case MULTIPLY: BOTH(TIMES) break;                                                     \
            case DIVIDE: BOTH(OVER) break;                                                        \
            case MAXIMUM: BOTH(GREATEST) break;                                                   \
            case MINIMUM: BOTH(LEAST) break;                                                      \
            case GREATER: BOTH(IS_GREATER) break;                                                 \
            case LESS: BOTH(IS_LESS) break;                                                       \
            case NEGATIVE: ALONE(MINUS_SIGN) break;                                               \
            case SQRT: ALONE(ROOT) break;                                                         \
            case ABSOLUTE: ALONE(MAGNITUDE) break;                                                \
            case WHERE: {                                                                         \
                const TYPE *third = registers[operand[2]];                                        \
                const npy_intp step = !constant[operand[1]], other = !constant[operand[2]];       \
                const npy_intp which = !constant[operand[0]];                                     \
                EACH(first[i * which] != 0 ? second[i * step] : third[i * other])                 \
            }                                                                                     \
            }                                                                                     \
        }                                                                                         \
    }

#define TYPE float
DEFINE_RUN(run_single, sqrtf, fabsf)
#undef TYPE
#define TYPE double
DEFINE_RUN(run_double, sqrt, fabs)
#undef TYPE

/* Whether an operand names a register that exists, and a target one that may be written. */
static int is_valid(const uint8_t *program, Py_ssize_t size, int columns, int constants, int all) {
    if (size % INSTRUCTION) return 0;
    for (const uint8_t *at = program; at < program + size; at += INSTRUCTION) {
        int target = at[1];
        if (at[0] > WHERE || target >= all) return 0;
        if (target >= columns && target < columns + constants) return 0;
        for (int operand = 2; operand < INSTRUCTION; operand++)
            if (at[operand] >= all) return 0;
    }
    return 1;
}

static int is_usable(PyObject *value, int type, npy_intp size) {
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_TYPE(array) == type && PyArray_SIZE(array) == size && PyArray_ISCARRAY(array);
}

/* Whether arrays of one row share memory in part: loops take for granted that none does. */
static int overlap_in_part(PyObject *const *row, int columns) {
    for (int column = 1; column < columns; column++) {
        PyArrayObject *one = (PyArrayObject *)row[column];
        const char *start = PyArray_BYTES(one), *end = start + PyArray_NBYTES(one);
        for (int before = 0; before < column; before++) {
            const char *place = PyArray_BYTES((PyArrayObject *)row[before]);
            if (place != start && place < end && start < place + (end - start)) return 1;
        }
    }
    return 0;
}

/* A program and what it runs over: for each row its arrays, and the number of its first block. */
typedef struct {
    const uint8_t *program;
    Py_ssize_t size;
    int type, columns, constants, temporaries;
    Py_ssize_t rows;
    char **registers;
    const char *constant;
    char **arrays;
    npy_intp *places; /* of each row: first block, elements */
    void (*compiled)(char **registers, long count); /* in place of the program, if there is one */
} Update;

/* Items are blocks, numbered over all rows. */
static void run_blocks(void *context, npy_intp start, npy_intp stop) {
    const Update *update = context;
    const npy_intp width = update->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    /* Lines of one cache set would be fought for if all blocks began at the same place in a page. */
    const npy_intp apart = BLOCK * width + 192;
    char memory[update->temporaries * apart + 1], *registers[MOST_REGISTERS];
    const int first = update->columns + update->constants;
    for (int index = update->columns; index < first; index++) registers[index] = update->registers[index];
    for (int index = 0; index < update->temporaries; index++) registers[first + index] = memory + index * apart;
    Py_ssize_t row = 0;
    for (npy_intp block = start; block < stop; block++) {
        while (row + 1 < update->rows && block >= update->places[2 * (row + 1)]) row++;
        const npy_intp from = (block - update->places[2 * row]) * BLOCK, left = update->places[2 * row + 1] - from;
        for (int column = 0; column < update->columns; column++)
            registers[column] = update->arrays[row * update->columns + column] + from * width;
        const npy_intp piece = left < BLOCK ? left : BLOCK;
        if (update->compiled != NULL)
            update->compiled(registers, piece);
        else if (update->type == NPY_FLOAT)
            run_single(update->program, update->size, (float **)registers, update->columns, update->constant, piece);
        else
            run_double(update->program, update->size, (double **)registers, update->columns, update->constant, piece);
    }
}

#define FEW 64 /* numbers that need no memory of their own */

/* The GIL is kept: nobody may change the arrays meanwhile. */
static PyObject *run_all(Update *update, PyObject *const *table) {
    char *few_arrays[FEW];
    npy_intp few_places[FEW];
    const int few = update->rows * update->columns <= FEW && 2 * update->rows <= FEW;
    update->arrays = few ? few_arrays : malloc((size_t)(update->rows * update->columns) * sizeof(char *));
    update->places = few ? few_places : malloc((size_t)(2 * update->rows) * sizeof(npy_intp));
    npy_intp blocks = 0;
    if (update->arrays != NULL && update->places != NULL) {
        for (Py_ssize_t row = 0; row < update->rows; row++) {
            PyObject *const *of_row = table + row * update->columns;
            for (int column = 0; column < update->columns; column++)
                update->arrays[row * update->columns + column] = PyArray_BYTES((PyArrayObject *)of_row[column]);
            const npy_intp size = PyArray_SIZE((PyArrayObject *)of_row[0]);
            update->places[2 * row] = blocks;
            update->places[2 * row + 1] = size;
            blocks += (size + BLOCK - 1) / BLOCK;
        }
        if (blocks) pool_run(run_blocks, update, blocks, GRAIN);
    } else {
        PyErr_NoMemory();
    }
    if (!few) {
        free(update->arrays);
        free(update->places);
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_True);
}

/* Everything is looked at before anything is written. */
static int table_holds(PyObject *const *table, Py_ssize_t rows, int columns, int type) {
    if (rows && type != NPY_FLOAT && type != NPY_DOUBLE) return 0;
    for (Py_ssize_t row = 0; row < rows; row++) {
        PyObject *const *of_row = table + row * columns;
        if (!PyArray_CheckExact(of_row[0])) return 0;
        const npy_intp size = PyArray_SIZE((PyArrayObject *)of_row[0]);
        for (int column = 0; column < columns; column++)
            if (!is_usable(of_row[column], type, size)) return 0;
        if (overlap_in_part(of_row, columns)) return 0;
    }
    return 1;
}

PyObject *taper_run_table(PyObject *const *rule, PyObject *const *table, Py_ssize_t rows, int columns) {
    if (!PyBytes_CheckExact(rule[0]) || !PyTuple_CheckExact(rule[1]))
        return PyErr_Format(PyExc_TypeError, "a rule is (program: bytes, constants: tuple, temporaries, compiled)");
    const uint8_t *program = (const uint8_t *)PyBytes_AS_STRING(rule[0]);
    const Py_ssize_t size = PyBytes_GET_SIZE(rule[0]);
    const int constants = (int)PyTuple_GET_SIZE(rule[1]);
    const long temporaries = PyLong_AsLong(rule[2]);
    if (temporaries < 0 || temporaries > MOST_REGISTERS || columns + constants > MOST_REGISTERS ||
        columns + constants + temporaries > MOST_REGISTERS || columns < 1 ||
        !is_valid(program, size, columns, constants, columns + constants + (int)temporaries)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not a program");
        return NULL;
    }
    const int type = rows && PyArray_CheckExact(table[0]) ? PyArray_TYPE((PyArrayObject *)table[0]) : -1;
    if (!table_holds(table, rows, columns, type)) Py_RETURN_FALSE;
    char *registers[MOST_REGISTERS];
    char constant[MOST_REGISTERS] = {0};
    for (int index = 0; index < constants; index++) {
        PyObject *value = PyTuple_GET_ITEM(rule[1], index);
        if (!is_usable(value, type, 1)) Py_RETURN_FALSE;
        registers[columns + index] = PyArray_BYTES((PyArrayObject *)value);
        constant[columns + index] = 1;
    }
    Update update = {program, size, type, columns, constants, (int)temporaries, rows, registers, constant,
                     NULL, NULL, NULL};
    if (rule[3] != NULL) *(void **)&update.compiled = PyLong_AsVoidPtr(rule[3]);
    if (PyErr_Occurred()) return NULL;
    return run_all(&update, table);
}

/* run_rule(program, columns, constants, temporaries, compiled): columns are lists of arrays, one for each row. */
PyObject *taper_run_rule(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 4 || count > 5 || !PyBytes_CheckExact(args[0]) || !PyTuple_CheckExact(args[1]) ||
        !PyTuple_CheckExact(args[2]))
        return PyErr_Format(PyExc_TypeError,
                            "run_rule(program: bytes, columns: tuple, constants: tuple, temporaries, compiled)");
    const Py_ssize_t columns = PyTuple_GET_SIZE(args[1]);
    Py_ssize_t rows = -1;
    for (Py_ssize_t column = 0; column < columns; column++) {
        PyObject *list = PyTuple_GET_ITEM(args[1], column);
        if (!PyList_CheckExact(list) || (rows >= 0 && PyList_GET_SIZE(list) != rows))
            return PyErr_Format(PyExc_TypeError, "columns are lists of one length");
        rows = PyList_GET_SIZE(list);
    }
    PyObject **table = columns && rows ? malloc((size_t)(rows * columns) * sizeof(PyObject *)) : NULL;
    if (columns && rows && table == NULL) return PyErr_NoMemory();
    for (Py_ssize_t row = 0; row < rows; row++)
        for (Py_ssize_t column = 0; column < columns; column++)
            table[row * columns + column] = PyList_GET_ITEM(PyTuple_GET_ITEM(args[1], column), row);
    PyObject *const rule[4] = {args[0], args[2], args[3], count == 5 ? args[4] : NULL};
    PyObject *done = taper_run_table(rule, table, rows < 0 ? 0 : rows, columns > MOST_REGISTERS ? 0 : (int)columns);
    free(table);
    return done;
}
