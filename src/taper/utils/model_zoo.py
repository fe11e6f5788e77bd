"""`taper.utils.model_zoo`: the old place of `taper.hub`."""

from taper.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
