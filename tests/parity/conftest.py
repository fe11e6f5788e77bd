"""What all comparisons with PyTorch need before it computes anything."""

import os

# oneDNN believes in instructions for half precision that some virtual machines name but lack, and
# the process dies of them; it looks at this when it is first used.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
