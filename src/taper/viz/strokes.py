"""Letters as strokes, for pictures made of pixels.

Owns the shapes of the printable ASCII characters: lines on a grid that is 4 wide and 8 high, with
the top of capitals at 0, the top of small letters at 2, the baseline at 6.
"""

from __future__ import annotations

import functools

__all__ = ["ADVANCE", "strokes_of"]

ADVANCE = 5.6  # from one letter to the next, in units of the grid
Strokes = tuple[tuple[tuple[int, int], ...], ...]

# A word is a line; each pair of digits is a point of it, x and y.
_SHAPES = """
A 062046 1434|B 0006 003041423303 3344453606|C 4130100105163645|D 0006 003041453606|E 40000646 0333
F 400006 0333|G 41301001051636454323|H 0006 4046 0343|I 1030 2026 1636|J 4045361605|K 0006 400346
L 000646|M 0600234046|N 06004640|O 103041453616050110|P 06003041423303|Q 103041453616050110 2446
R 06003041423303 2346|S 413010010213334445361605|T 0040 2026|U 000516364540|V 002640|W 0016233640
X 0046 4006|Y 002340 2326|Z 00400646|a 12324346 441405163645|b 0006 0312324345361605
c 4332120305163645|d 4046 4332120305163645|e 04444332120305163645|f 40302126 1242
g 4332120305163645 4247381807|h 0006 0312324346|i 2226 2020|j 22271807 2020|k 0006 420446
l 102026 1636|m 0206 03122326 23324346|n 0206 0312324346|o 123243453616050312
p 0208 0312324345361605|q 4248 4332120305163645|r 0206 03123243|s 4212031434453606|t 20253646 0242
u 0205163645 4246|v 022642|w 0216243642|x 0246 4206|y 0226 4218|z 02420646
0 103041453616050110 1432|1 112026 1636|2 01103041420646|3 01103041423313 334445361605|4 36300444
5 400002324345361605|6 4130100105163645443303|7 004026|8 103041423313020110 133344453616050413
9 0516364541301001021343|. 2626|, 2617|: 2323 2626|; 2323 2617|- 1333|_ 0747|+ 0343 2125
= 0242 0444|/ 0640|( 30212536|) 10212516|[ 30101636|] 10303616|{ 30202213242636|} 10202233242616
< 410345|> 014305|% 0640 0010110100 3545463635|# 1016 3036 0242 0444|! 2024 2626
? 01103041422324 2626|' 2021|" 1011 3031|* 2125 0244 4204|^ 022042|~ 04133443|` 1021
& 4602011021311204051636|@ 35443323243544 4541301001051646|$ 413010010213334445361605 2026
"""


@functools.cache
def _table() -> dict[str, Strokes]:
    shapes: dict[str, Strokes] = {"|": (((2, 0), (2, 7)),), "\\": (((0, 0), (4, 6)),), " ": ()}
    for entry in _SHAPES.strip().replace("\n", "|").split("|"):
        letter, _, lines = entry.partition(" ")
        shapes[letter] = tuple(
            tuple((int(line[at]), int(line[at + 1])) for at in range(0, len(line) - 1, 2))
            for line in lines.split()
        )
    return shapes


_UNKNOWN = (((0, 0), (4, 0), (4, 6), (0, 6), (0, 0)),)


def strokes_of(letter: str) -> Strokes:
    """Return the lines of a letter; a frame stands for one that is not ASCII.

    >>> from taper.viz.strokes import strokes_of
    >>> strokes_of("L")
    (((0, 0), (0, 6), (4, 6)),)
    """
    return _table().get(letter, _UNKNOWN)
