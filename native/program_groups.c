/* Groups: element-wise operations over arrays, block by block so that values stay in the first-level
 * cache, with the reductions at their ends.
 *
 * Blocks are numbered; chunks of them go to the pool.  What a chunk reduces is put together with that
 * of others in their order, so that results do not depend on the number of threads.
 */

#include <string.h>

#include "program.h"

#define MOST_REGISTERS 128

/* Copy elements from `start` on between memory with steps and a piece; numbered row by row. */
static void copy_steps(const Register *each, char *memory, char *piece, npy_intp start, npy_intp count, int gather) {
    npy_intp index[MOST_DIMS];
    const int last = each->dims - 1, width = each->width;
    for (int dim = last; dim >= 0; dim--) {
        index[dim] = start % each->lengths[dim];
        start /= each->lengths[dim];
        memory += index[dim] * each->steps[dim];
    }
    while (count > 0) {
        npy_intp run = each->lengths[last] - index[last];
        const npy_intp step = each->steps[last];
        if (run > count) run = count;
        if (step == width) {
            if (gather) memcpy(piece, memory, (size_t)(run * width));
            else memcpy(memory, piece, (size_t)(run * width));
        } else if (width == 4) {
            npy_uint32 *flat = (npy_uint32 *)piece;
            if (gather)
                for (npy_intp i = 0; i < run; i++) flat[i] = *(npy_uint32 *)(memory + i * step);
            else
                for (npy_intp i = 0; i < run; i++) *(npy_uint32 *)(memory + i * step) = flat[i];
        } else {
            for (npy_intp i = 0; i < run; i++) {
                if (gather) memcpy(piece + i * width, memory + i * step, (size_t)width);
                else memcpy(memory + i * step, piece + i * width, (size_t)width);
            }
        }
        piece += run * width;
        count -= run;
        if (!count) return;
        memory -= index[last] * step;
        index[last] = 0;
        for (int dim = last - 1; dim >= 0; dim--) {
            memory += each->steps[dim];
            if (++index[dim] < each->lengths[dim]) break;
            memory -= index[dim] * each->steps[dim];
            index[dim] = 0;
        }
    }
}

static inline void put_number(char *to, int is_double, double value) {
    if (is_double) *(double *)to = value;
    else *(float *)to = (float)value;
}

/* Reduce a block: rows at once, the rest into the numbers of this chunk. */
static void reduce_block(const GroupWork *work, const Reduction *each, const char *from, npy_intp start, npy_intp count,
                         double *found) {
    const npy_intp width = each->is_double ? 8 : 4;
    if (each->outer > 1) {
        char *to = work->bases[each->to.base] + each->to.offset + start / each->length * width;
        for (npy_intp row = 0; row < count / each->length; row++)
            put_number(to + row * width, each->is_double,
                       reduce_run(each->what, each->is_double, from + row * each->length * width, each->length,
                                  reduction_start(each->what)));
    } else if (each->inner > 1) {
        reduce_columns(each->what, each->is_double, from, count / each->inner, each->inner, found);
    } else {
        *found = reduce_run(each->what, each->is_double, from, count, *found);
    }
}

void run_blocks(void *context, npy_intp first, npy_intp stop) {
    const GroupWork *work = context;
    const Group *group = work->group;
    void (*compiled)(char **, long) = atomic_load(&((Group *)group)->compiled);
    char *registers[MOST_REGISTERS];
    npy_intp steps[MOST_REGISTERS];
    char memory[group->scratch + 64], *aligned = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    double *partial = work->partial + (work->partials ? first / group->grain * work->partials : 0), *found = partial;
    for (int nr = 0; nr < group->reductions; nr++) {
        const Reduction *each = &group->reduction_list[nr];
        if (each->outer > 1) continue;
        for (npy_intp i = 0; i < each->inner; i++) *found++ = reduction_start(each->what);
    }
    for (int nr = 0; nr < group->registers; nr++) {
        const Register *each = &group->register_list[nr];
        steps[nr] = each->kind == SINGLE || each->kind == CONSTANT ? 0 : each->width;
        if (each->kind == SINGLE) registers[nr] = work->bases[each->place.base] + each->place.offset;
        else if (each->kind == CONSTANT) registers[nr] = (char *)each->value;
        else registers[nr] = aligned + each->scratch;
    }
    for (npy_intp block = first; block < stop; block++) {
        const npy_intp start = block * group->block;
        const npy_intp count = group->count - start < group->block ? group->count - start : group->block;
        for (int nr = 0; nr < group->registers; nr++) {
            const Register *each = &group->register_list[nr];
            if (each->kind == DIRECT)
                registers[nr] = work->bases[each->place.base] + each->place.offset + start * each->width;
            else if (each->kind == GATHERED)
                copy_steps(each, work->bases[each->place.base] + each->place.offset, registers[nr], start, count, 1);
        }
        if (compiled != NULL) compiled(registers, count);
        for (int nr = 0; nr < group->instructions && compiled == NULL; nr++) {
            const Instruction *each = &group->instruction_list[nr];
            char *args[MOST_ARGS + 1];
            npy_intp arg_steps[MOST_ARGS + 1], length = count;
            for (int arg = 0; arg < each->args; arg++) {
                args[arg] = registers[each->registers[arg]];
                arg_steps[arg] = steps[each->registers[arg]];
            }
            if (each->run != NULL) each->run(args, arg_steps, count);
            else each->loop(args, &length, arg_steps, each->data);
        }
        found = partial;
        for (int nr = 0; nr < group->reductions; nr++) {
            const Reduction *each = &group->reduction_list[nr];
            reduce_block(work, each, registers[each->from], start, count, found);
            if (each->outer == 1) found += each->inner;
        }
        for (int nr = 0; nr < group->registers; nr++) {
            const Register *each = &group->register_list[nr];
            if (each->kind == SCATTERED)
                copy_steps(each, work->bases[each->place.base] + each->place.offset, registers[nr], start, count, 0);
        }
    }
}

static double together(int what, double first, double second) {
    if (what == SUM) return first + second;
    if (first != first || second != second) return first != first ? first : second;
    return what == LARGEST ? (first > second ? first : second) : first < second ? first : second;
}

int begin_group(GroupWork *work, const Group *group, char **bases) {
    const npy_intp blocks = (group->count + group->block - 1) / group->block;
    work->group = group, work->bases = bases, work->partials = 0;
    work->chunks = (blocks + group->grain - 1) / group->grain;
    for (int nr = 0; nr < group->reductions; nr++)
        if (group->reduction_list[nr].outer == 1) work->partials += group->reduction_list[nr].inner;
    const npy_intp all = work->partials * (work->chunks ? work->chunks : 1);
    work->partial = all <= 64 ? work->few : scratch_take((size_t)all * sizeof(double));
    return work->partial != NULL;
}

void end_group(GroupWork *work) {
    const Group *group = work->group;
    double *found = work->partial;
    for (int nr = 0; nr < group->reductions; nr++) {
        const Reduction *each = &group->reduction_list[nr];
        if (each->outer > 1) continue;
        char *to = work->bases[each->to.base] + each->to.offset;
        for (npy_intp i = 0; i < each->inner; i++, found++) {
            double value = work->chunks ? *found : reduction_start(each->what);
            for (npy_intp chunk = 1; chunk < work->chunks; chunk++)
                value = together(each->what, value, found[chunk * work->partials]);
            put_number(to + i * (each->is_double ? 8 : 4), each->is_double, value);
        }
    }
    if (work->partial != work->few) scratch_give(work->partial);
}

int run_group(const Group *group, char **bases) {
    GroupWork work;
    if (!begin_group(&work, group, bases)) return -1;
    pool_run(run_blocks, &work, (group->count + group->block - 1) / group->block, group->grain);
    end_group(&work);
    return 0;
}
