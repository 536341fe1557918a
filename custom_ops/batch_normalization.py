"""`sonnx::BatchNormalizationOperands` looks at the variance of a BatchNormalization."""

from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.profile.batch_normalization import BATCH_NORMALIZATION

CUSTOM_OPERATOR = Inspection(BATCH_NORMALIZATION)
