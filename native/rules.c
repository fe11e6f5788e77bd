/* The update rule of an optimizer, run over arrays in one pass.
 *
 * `optim/programs.py` writes a rule down as a program: five bytes for each instruction,
 * operation, target and up to three operands.  Operands are registers: first the columns (the
 * parameter, its gradient, its states), then the constants, then the temporaries.  The program
 * runs over blocks that stay in the first-level cache, and rounds after each operation as NumPy
 * does.
 */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "native.h"

enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, SQRT, ABSOLUTE, MAXIMUM, MINIMUM, GREATER, LESS, WHERE };

#define BLOCK 1024
#define MOST_REGISTERS 32
#define INSTRUCTION 5

/* A NaN in either operand gives NaN, as in NumPy. */
#define GREATEST(x, y) ((x) >= (y) || (x) != (x) ? (x) : (y))
#define LEAST(x, y) ((x) <= (y) || (x) != (x) ? (x) : (y))

#define EACH(expression)                       \
    _Pragma("GCC ivdep") for (npy_intp i = 0; i < length; i++) { \
        target[i] = (expression);              \
    }                                          \
    break;

/* A constant, a single element, stands for a whole array of it. */
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

#define DEFINE_RUN(NAME, ROOT, MAGNITUDE)                                                          \
    WIDE static void NAME(const uint8_t *program, Py_ssize_t size, TYPE **registers,              \
                          const char *constant, npy_intp length) {                                \
        for (const uint8_t *at = program; at < program + size; at += INSTRUCTION) {               \
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
    if (!PyArray_Check(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_TYPE(array) == type && PyArray_SIZE(array) == size && PyArray_ISCARRAY(array);
}

/* Whether arrays of one row share part of their memory: the loops assume that none do. */
static int overlap_in_part(PyObject *columns, Py_ssize_t row) {
    for (Py_ssize_t column = 1; column < PyTuple_GET_SIZE(columns); column++) {
        PyArrayObject *one = (PyArrayObject *)PyList_GET_ITEM(PyTuple_GET_ITEM(columns, column), row);
        const char *start = PyArray_BYTES(one), *end = start + PyArray_NBYTES(one);
        for (Py_ssize_t before = 0; before < column; before++) {
            PyObject *other = PyList_GET_ITEM(PyTuple_GET_ITEM(columns, before), row);
            const char *place = PyArray_BYTES((PyArrayObject *)other);
            if (place != start && place < end && start < place + (end - start)) return 1;
        }
    }
    return 0;
}

PyObject *taper_run_rule(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || !PyBytes_CheckExact(args[0]) || !PyTuple_CheckExact(args[1]) ||
        !PyTuple_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError,
                        "run_rule(program: bytes, columns: tuple, constants: tuple, temporaries)");
        return NULL;
    }
    const uint8_t *program = (const uint8_t *)PyBytes_AS_STRING(args[0]);
    Py_ssize_t size = PyBytes_GET_SIZE(args[0]);
    int columns = (int)PyTuple_GET_SIZE(args[1]), constants = (int)PyTuple_GET_SIZE(args[2]);
    long temporaries = PyLong_AsLong(args[3]);
    if (temporaries < 0 || temporaries > MOST_REGISTERS || columns + constants > MOST_REGISTERS ||
        columns + constants + temporaries > MOST_REGISTERS || columns < 1 ||
        !is_valid(program, size, columns, constants, columns + constants + (int)temporaries)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not a program");
        return NULL;
    }

    /* Everything is checked before anything is written. */
    Py_ssize_t rows = -1;
    int type = -1;
    for (int column = 0; column < columns; column++) {
        PyObject *list = PyTuple_GET_ITEM(args[1], column);
        if (!PyList_CheckExact(list) || (rows >= 0 && PyList_GET_SIZE(list) != rows)) {
            PyErr_SetString(PyExc_TypeError, "columns are lists of one length");
            return NULL;
        }
        rows = PyList_GET_SIZE(list);
        for (Py_ssize_t row = 0; row < rows; row++) {
            PyObject *leader = PyList_GET_ITEM(PyTuple_GET_ITEM(args[1], 0), row);
            if (!PyArray_Check(leader)) Py_RETURN_FALSE;
            if (type < 0) type = PyArray_TYPE((PyArrayObject *)leader);
            if ((type != NPY_FLOAT && type != NPY_DOUBLE) ||
                !is_usable(PyList_GET_ITEM(list, row), type, PyArray_SIZE((PyArrayObject *)leader)))
                Py_RETURN_FALSE;
        }
    }
    for (Py_ssize_t row = 0; row < rows; row++)
        if (overlap_in_part(args[1], row)) Py_RETURN_FALSE;
    char *registers[MOST_REGISTERS];
    char constant[MOST_REGISTERS] = {0};
    for (int index = 0; index < constants; index++) {
        PyObject *value = PyTuple_GET_ITEM(args[2], index);
        if (!is_usable(value, type, 1)) Py_RETURN_FALSE;
        registers[columns + index] = PyArray_BYTES((PyArrayObject *)value);
        constant[columns + index] = 1;
    }

    npy_intp width = type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    /* Blocks that all begin at the same place in a page would compete for the same cache lines. */
    npy_intp apart = BLOCK * width + 192;
    char *memory = temporaries ? malloc((size_t)(temporaries * apart)) : NULL;
    if (temporaries && memory == NULL) return PyErr_NoMemory();
    for (long index = 0; index < temporaries; index++)
        registers[columns + constants + index] = memory + index * apart;
    for (Py_ssize_t row = 0; row < rows; row++) {
        npy_intp length = PyArray_SIZE((PyArrayObject *)PyList_GET_ITEM(PyTuple_GET_ITEM(args[1], 0), row));
        for (npy_intp start = 0; start < length; start += BLOCK) {
            for (int column = 0; column < columns; column++) {
                PyObject *array = PyList_GET_ITEM(PyTuple_GET_ITEM(args[1], column), row);
                registers[column] = PyArray_BYTES((PyArrayObject *)array) + start * width;
            }
            npy_intp piece = length - start < BLOCK ? length - start : BLOCK;
            if (type == NPY_FLOAT)
                run_single(program, size, (float **)registers, constant, piece);
            else
                run_double(program, size, (double **)registers, constant, piece);
        }
    }
    free(memory);
    Py_RETURN_TRUE;
}
