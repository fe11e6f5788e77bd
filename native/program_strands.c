/* Strands: steps over the same rows, which a thread takes through all of them, some rows at a time.
 *
 * What a step writes is then in the thread's own cache when the next reads it, and threads wait for each other once
 * in a strand and not after each step.  A right matrix whose columns lie in one piece is turned over before, for all.
 * Results do not depend on the number of threads: the units of rows are those of the plan.
 */

#include <stdlib.h>
#include <string.h>

#include "program_steps.h"
#include "tiles.h"

#define STRIP 64 /* columns that are turned over at once */

typedef struct {
    npy_intp rows; /* of a unit */
    Matrix left, right;
    float *to, *turned; /* turned: memory of our own, or NULL */
    const float *start;
} Multiplication;

typedef struct {
    const Step *step;
    Multiplication product;
    GroupWork group;
    Parts parts;
} Ready;

typedef struct {
    npy_intp units;
    int count;
    Ready *ready;
} Run;

static char *at(const Program *program, Place place) { return program->bases[place.base] + place.offset; }

static int begin_product(const Program *program, const Product *from, npy_intp units, Multiplication *to) {
    *to = (Multiplication){from->rows / units, from->left, from->right, (float *)at(program, from->to), NULL, NULL};
    to->left.data = at(program, from->left_place), to->right.data = at(program, from->right_place);
    if (from->start_step >= 0) to->start = (float *)at(program, from->start);
    if (!from->right.turned) return 1;
    to->turned = scratch_take((size_t)(from->inner * turned_step(from->columns)) * sizeof(float));
    return to->turned != NULL;
}

/* 0 if there is no memory; what was begun is ended all the same. */
static int begin(Program *program, const Step *step, npy_intp units, Ready *ready) {
    char *data[MOST_CALL_ARGS], *outputs[MOST_CALL_ARGS];
    if (step->kind == GROUP) return begin_group(&ready->group, &step->of.group, program->bases);
    if (step->kind == PRODUCT) return begin_product(program, &step->of.product, units, &ready->product);
    places_of_call(program, &step->of.call, data, outputs);
    return step->of.call.prepare(&step->of.call, data, outputs, units, &ready->parts) && ready->parts.items % units == 0;
}

/* Items are strips of all products' right matrices. */
static void turn_strips(void *context, npy_intp start, npy_intp stop) {
    const Run *run = context;
    npy_intp first = 0;
    for (int nr = 0; nr < run->count && first < stop; nr++) {
        const Multiplication *own = &run->ready[nr].product;
        if (own->turned == NULL) continue;
        const Product *product = &run->ready[nr].step->of.product;
        const npy_intp columns = product->columns, strips = (columns + STRIP - 1) / STRIP;
        for (npy_intp strip = start > first ? start - first : 0; strip < strips && strip < stop - first; strip++) {
            const npy_intp column = strip * STRIP, wide = columns - column < STRIP ? columns - column : STRIP;
            turn_matrix(product->inner, wide, (const float *)own->right.data + column * own->right.step, own->right.step,
                        own->turned + column, turned_step(columns));
        }
        first += strips;
    }
}

static npy_intp strips_of(const Run *run) {
    npy_intp strips = 0;
    for (int nr = 0; nr < run->count; nr++)
        if (run->ready[nr].product.turned != NULL)
            strips += (run->ready[nr].step->of.product.columns + STRIP - 1) / STRIP;
    return strips;
}

static void multiply(const Product *product, const Multiplication *own, npy_intp unit) {
    const npy_intp first = unit * own->rows;
    Matrix left = own->left, right = own->right;
    left.data = (const float *)left.data + first * left.step;
    if (own->turned != NULL) right = (Matrix){own->turned, turned_step(product->columns), 0};
    multiply_tiles(own->rows, product->inner, product->columns, left, right, own->to + first * product->to_step,
                   product->to_step, own->start == NULL ? NULL : own->start + first * product->start_step,
                   product->start_step);
}

static void run_units(void *context, npy_intp start, npy_intp stop) {
    const Run *run = context;
    for (npy_intp unit = start; unit < stop; unit++)
        for (int nr = 0; nr < run->count; nr++) {
            Ready *ready = &run->ready[nr];
            const Step *step = ready->step;
            if (step->kind == GROUP) {
                run_blocks(&ready->group, unit * step->of.group.grain, (unit + 1) * step->of.group.grain);
            } else if (step->kind == PRODUCT) {
                multiply(&step->of.product, &ready->product, unit);
            } else {
                const npy_intp items = ready->parts.items / run->units;
                ready->parts.part(ready->parts.context, unit * items, (unit + 1) * items);
            }
        }
}

/* What was begun is put together, or given up. */
static int end(Ready *ready, int done) {
    const int kind = ready->step->kind;
    if (kind == GROUP && ready->group.partial != NULL) end_group(&ready->group);
    if (kind == PRODUCT) scratch_give(ready->product.turned);
    if (kind == CALL && ready->parts.finish != NULL) done &= ready->parts.finish(ready->parts.context);
    return done;
}

int run_strand(Program *program, const Strand *strand) {
    Run run = {strand->units, 0, calloc((size_t)strand->count, sizeof(Ready))};
    int done = run.ready != NULL;
    for (int nr = 0; nr < strand->count && done; nr++, run.count++) {
        run.ready[nr].step = &strand->steps[nr];
        done = begin(program, &strand->steps[nr], strand->units, &run.ready[nr]);
    }
    if (done) {
        Py_BEGIN_ALLOW_THREADS;
        pool_run(turn_strips, &run, strips_of(&run), 2);
        pool_run(run_units, &run, run.units, 1);
        Py_END_ALLOW_THREADS;
    }
    for (int nr = 0; nr < run.count; nr++) done &= end(&run.ready[nr], done);
    free(run.ready);
    if (!done) PyErr_NoMemory();
    return done ? 0 : -1;
}
