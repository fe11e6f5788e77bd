/* The operations of groups: loops over blocks of elements, and reductions of them.
 *
 * Each operation rounds as NumPy's does, but for exp, log, tanh and logistic of floats, which are
 * those of floats.h.
 */

#include "lanes.h"
#include "program.h"

#define IVDEP _Pragma("GCC ivdep")

/* An operation of two operands, of which one may be a single element. */
#define TWO(NAME, TYPE, TO, COMBINE)                                                          \
    FAST static void NAME(char **args, const npy_intp *steps, npy_intp count) {              \
        const TYPE *first = (const TYPE *)args[0], *second = (const TYPE *)args[1];          \
        TO *target = (TO *)args[2];                                                          \
        if (steps[0] && steps[1]) {                                                          \
            IVDEP for (npy_intp i = 0; i < count; i++) target[i] = COMBINE(first[i], second[i]); \
        } else if (steps[0]) {                                                               \
            const TYPE y = *second;                                                          \
            IVDEP for (npy_intp i = 0; i < count; i++) target[i] = COMBINE(first[i], y);     \
        } else if (steps[1]) {                                                               \
            const TYPE x = *first;                                                           \
            IVDEP for (npy_intp i = 0; i < count; i++) target[i] = COMBINE(x, second[i]);    \
        } else {                                                                             \
            const TO value = COMBINE(*first, *second);                                       \
            for (npy_intp i = 0; i < count; i++) target[i] = value;                          \
        }                                                                                    \
    }

#define ONE_OPERAND(NAME, TYPE, TO, CHANGE)                                                   \
    FAST static void NAME(char **args, const npy_intp *steps, npy_intp count) {              \
        const TYPE *first = (const TYPE *)args[0];                                           \
        TO *target = (TO *)args[1];                                                          \
        if (steps[0]) {                                                                      \
            IVDEP for (npy_intp i = 0; i < count; i++) target[i] = (TO)CHANGE(first[i]);     \
        } else {                                                                             \
            const TO value = (TO)CHANGE(*first);                                             \
            for (npy_intp i = 0; i < count; i++) target[i] = value;                          \
        }                                                                                    \
    }

#define PLUS(x, y) ((x) + (y))
#define MINUS(x, y) ((x) - (y))
#define TIMES(x, y) ((x) * (y))
#define OVER(x, y) ((x) / (y))
/* NaN of either operand is the result, as in NumPy. */
#define GREATEST(x, y) ((x) >= (y) || (x) != (x) ? (x) : (y))
#define LEAST(x, y) ((x) <= (y) || (x) != (x) ? (x) : (y))
#define IS_GREATER(x, y) ((x) > (y))
#define IS_NOT_LESS(x, y) ((x) >= (y))
#define IS_LESS(x, y) ((x) < (y))
#define IS_NOT_GREATER(x, y) ((x) <= (y))
#define IS_EQUAL(x, y) ((x) == (y))
#define IS_OTHER(x, y) ((x) != (y))
#define OPPOSITE(x) (-(x))
#define SAME(x) (x)
#define IS_TRUE(x) ((x) != 0)

#define WHERE(NAME, TYPE)                                                                     \
    FAST static void NAME(char **args, const npy_intp *steps, npy_intp count) {              \
        const npy_bool *mask = (const npy_bool *)args[0];                                    \
        const TYPE *first = (const TYPE *)args[1], *second = (const TYPE *)args[2];          \
        TYPE *target = (TYPE *)args[3];                                                      \
        if (steps[0] && steps[1] && steps[2]) {                                              \
            IVDEP for (npy_intp i = 0; i < count; i++) target[i] = mask[i] ? first[i] : second[i]; \
        } else if (steps[0] && steps[1]) {                                                   \
            const TYPE y = *second;                                                          \
            IVDEP for (npy_intp i = 0; i < count; i++) target[i] = mask[i] ? first[i] : y;   \
        } else {                                                                             \
            const npy_intp m = steps[0] != 0, a = steps[1] != 0, b = steps[2] != 0;          \
            for (npy_intp i = 0; i < count; i++) target[i] = mask[i * m] ? first[i * a] : second[i * b]; \
        }                                                                                    \
    }

#define ARITHMETIC(END, TYPE, ROOT, MAGNITUDE)         \
    TWO(add_##END, TYPE, TYPE, PLUS)                   \
    TWO(subtract_##END, TYPE, TYPE, MINUS)             \
    TWO(multiply_##END, TYPE, TYPE, TIMES)             \
    TWO(divide_##END, TYPE, TYPE, OVER)                \
    TWO(maximum_##END, TYPE, TYPE, GREATEST)           \
    TWO(minimum_##END, TYPE, TYPE, LEAST)              \
    TWO(greater_##END, TYPE, npy_bool, IS_GREATER)     \
    TWO(greater_equal_##END, TYPE, npy_bool, IS_NOT_LESS) \
    TWO(less_##END, TYPE, npy_bool, IS_LESS)           \
    TWO(less_equal_##END, TYPE, npy_bool, IS_NOT_GREATER) \
    TWO(equal_##END, TYPE, npy_bool, IS_EQUAL)         \
    TWO(not_equal_##END, TYPE, npy_bool, IS_OTHER)     \
    ONE_OPERAND(negative_##END, TYPE, TYPE, OPPOSITE)  \
    ONE_OPERAND(absolute_##END, TYPE, TYPE, MAGNITUDE) \
    ONE_OPERAND(sqrt_##END, TYPE, TYPE, ROOT)          \
    ONE_OPERAND(copy_##END, TYPE, TYPE, SAME)          \
    WHERE(where_##END, TYPE)

ARITHMETIC(float, float, sqrtf, fabsf)
ARITHMETIC(double, double, sqrt, fabs)
ONE_OPERAND(exp_of_floats, float, float, exp_quickly)
ONE_OPERAND(log_of_floats, float, float, log_float)
ONE_OPERAND(tanh_of_floats, float, float, tanh_quickly)
ONE_OPERAND(logistic_of_floats, float, float, logistic_quickly)
ONE_OPERAND(gelu_of_floats, float, float, gelu_float)
ONE_OPERAND(gelu_slope_of_floats, float, float, gelu_slope_float)
ONE_OPERAND(copy_bool, npy_bool, npy_bool, SAME)
ONE_OPERAND(copy_long, npy_int64, npy_int64, SAME)
ONE_OPERAND(copy_int, npy_int32, npy_int32, SAME)
ONE_OPERAND(bool_to_float, npy_bool, float, SAME)
ONE_OPERAND(bool_to_double, npy_bool, double, SAME)
ONE_OPERAND(bool_to_long, npy_bool, npy_int64, SAME)
ONE_OPERAND(int_to_float, npy_int32, float, SAME)
ONE_OPERAND(int_to_double, npy_int32, double, SAME)
ONE_OPERAND(long_to_float, npy_int64, float, SAME)
ONE_OPERAND(long_to_double, npy_int64, double, SAME)
ONE_OPERAND(long_to_bool, npy_int64, npy_bool, IS_TRUE)
ONE_OPERAND(float_to_double, float, double, SAME)
ONE_OPERAND(double_to_float, double, float, SAME)
ONE_OPERAND(float_to_bool, float, npy_bool, IS_TRUE)
ONE_OPERAND(double_to_bool, double, npy_bool, IS_TRUE)

#define BOTH_TYPES(name) {#name, NPY_FLOAT, name##_float}, {#name, NPY_DOUBLE, name##_double}
static const struct {
    const char *name;
    int type;
    Operation run;
} operations[] = {
    BOTH_TYPES(add), BOTH_TYPES(subtract), BOTH_TYPES(multiply), BOTH_TYPES(divide),
    BOTH_TYPES(maximum), BOTH_TYPES(minimum), BOTH_TYPES(greater), BOTH_TYPES(greater_equal),
    BOTH_TYPES(less), BOTH_TYPES(less_equal), BOTH_TYPES(equal), BOTH_TYPES(not_equal),
    BOTH_TYPES(negative), BOTH_TYPES(absolute), BOTH_TYPES(sqrt), BOTH_TYPES(copy),
    BOTH_TYPES(where),
    {"exp", NPY_FLOAT, exp_of_floats}, {"log", NPY_FLOAT, log_of_floats},
    {"tanh", NPY_FLOAT, tanh_of_floats}, {"logistic", NPY_FLOAT, logistic_of_floats},
    {"gelu", NPY_FLOAT, gelu_of_floats}, {"gelu_slope", NPY_FLOAT, gelu_slope_of_floats},
    {"copy", NPY_BOOL, copy_bool}, {"copy", NPY_LONG, copy_long}, {"copy", NPY_INT, copy_int},
};

Operation operation_of(const char *name, int type) {
    for (size_t nr = 0; nr < sizeof operations / sizeof *operations; nr++)
        if (operations[nr].type == type && strcmp(operations[nr].name, name) == 0) return operations[nr].run;
    return NULL;
}

static const struct {
    int from, to;
    Operation run;
} conversions[] = {
    {NPY_BOOL, NPY_FLOAT, bool_to_float},   {NPY_BOOL, NPY_DOUBLE, bool_to_double},
    {NPY_BOOL, NPY_LONG, bool_to_long},     {NPY_INT, NPY_FLOAT, int_to_float},
    {NPY_INT, NPY_DOUBLE, int_to_double},   {NPY_LONG, NPY_FLOAT, long_to_float},
    {NPY_LONG, NPY_DOUBLE, long_to_double}, {NPY_LONG, NPY_BOOL, long_to_bool},
    {NPY_FLOAT, NPY_DOUBLE, float_to_double}, {NPY_DOUBLE, NPY_FLOAT, double_to_float},
    {NPY_FLOAT, NPY_BOOL, float_to_bool},   {NPY_DOUBLE, NPY_BOOL, double_to_bool},
};

Operation conversion(int from, int to) {
    for (size_t nr = 0; nr < sizeof conversions / sizeof *conversions; nr++)
        if (conversions[nr].from == from && conversions[nr].to == to) return conversions[nr].run;
    return NULL;
}

/* --- reductions ----------------------------------------------------------------------------------- */

double reduction_start(int what) { return what == SUM ? 0 : what == LARGEST ? -INFINITY : INFINITY; }

#define PIECE 1024 /* floats that are added in single precision */

/* Four lanes of lanes, so that additions do not wait for each other. */
FAST static float add_floats(const float *from, npy_intp count) {
    if (count < 2 * LANES) {
        float total = 0;
        for (npy_intp i = 0; i < count; i++) total += from[i];
        return total;
    }
    Lanes first = {0}, second = {0}, third = {0}, fourth = {0};
    npy_intp i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        first += lanes_at(from + i);
        second += lanes_at(from + i + LANES);
        third += lanes_at(from + i + 2 * LANES);
        fourth += lanes_at(from + i + 3 * LANES);
    }
    for (; i + LANES <= count; i += LANES) first += lanes_at(from + i);
    float rest = 0;
    for (; i < count; i++) rest += from[i];
    return sum_of_lanes((first + second) + (third + fourth)) + rest;
}

FAST static double add_doubles(const double *from, npy_intp count) {
    double lanes[8] = {0};
    npy_intp i = 0;
    for (; i + 8 <= count; i += 8)
        for (int lane = 0; lane < 8; lane++) lanes[lane] += from[i + lane];
    double total = 0;
    for (int lane = 0; lane < 8; lane++) total += lanes[lane];
    for (; i < count; i++) total += from[i];
    return total;
}

#define EXTREME(TYPE, BETTER)                                              \
    for (npy_intp i = 0; i < count; i++) {                                 \
        const double value = ((const TYPE *)from)[i];                      \
        if (value BETTER so_far || value != value) so_far = value;         \
        if (so_far != so_far) return so_far;                               \
    }

double reduce_run(int what, int is_double, const void *from, npy_intp count, double so_far) {
    if (what == SUM && is_double) return so_far + add_doubles(from, count);
    if (what == SUM) {
        for (npy_intp i = 0; i < count; i += PIECE)
            so_far += add_floats((const float *)from + i, count - i < PIECE ? count - i : PIECE);
    } else if (what == LARGEST && is_double) {
        EXTREME(double, >)
    } else if (what == LARGEST) {
        EXTREME(float, >)
    } else if (is_double) {
        EXTREME(double, <)
    } else {
        EXTREME(float, <)
    }
    return so_far;
}

#define STRIP 256 /* columns that are added at once, in single precision over a few rows */
#define FEW_ROWS 32

INLINE void add_strip(const float *from, npy_intp rows, npy_intp columns, npy_intp width, double *so_far) {
    for (npy_intp first = 0; first < rows; first += FEW_ROWS) {
        const npy_intp stop = rows - first < FEW_ROWS ? rows : first + FEW_ROWS;
        float total[STRIP] = {0};
        for (npy_intp row = first; row < stop; row++) {
            const float *values = from + row * columns;
            IVDEP for (npy_intp i = 0; i < width; i++) total[i] += values[i];
        }
        IVDEP for (npy_intp i = 0; i < width; i++) so_far[i] += total[i];
    }
}

#define COLUMNS(TYPE, CHANGE)                                                    \
    for (npy_intp row = 0; row < rows; row++) {                                  \
        const TYPE *values = (const TYPE *)from + row * columns;                 \
        IVDEP for (npy_intp i = 0; i < columns; i++) {                           \
            const double value = values[i];                                      \
            so_far[i] = CHANGE;                                                  \
        }                                                                        \
    }
#define COLUMNS_OF(CHANGE) \
    if (is_double) {       \
        COLUMNS(double, CHANGE) \
    } else {               \
        COLUMNS(float, CHANGE)  \
    }

FAST void reduce_columns(int what, int is_double, const void *from, npy_intp rows, npy_intp columns, double *so_far) {
    if (what == SUM && !is_double) {
        for (npy_intp start = 0; start < columns; start += STRIP)
            add_strip((const float *)from + start, rows, columns,
                      columns - start < STRIP ? columns - start : STRIP, so_far + start);
    } else if (what == SUM) {
        COLUMNS_OF(so_far[i] + value)
    } else if (what == LARGEST) {
        COLUMNS_OF((value > so_far[i] || value != value ? value : so_far[i]))
    } else {
        COLUMNS_OF((value < so_far[i] || value != value ? value : so_far[i]))
    }
}
