"""`reduce`: the smallest model that still shows what is asked for."""
