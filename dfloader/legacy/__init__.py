"""keras-preprocessing's ``flow_from_dataframe``, argument for argument and batch for batch.

The model is Keras' own copy of it (``keras.src.legacy.preprocessing.image``); keras-preprocessing
1.1.2 differs in two things: it sorts ``classes``, and its affine transform has other axes and
another centre. The first is not followed unless asked for, the second is for its own generator.
"""

from dfloader.generators import install
from dfloader.legacy.call import ImageDataGenerator, flow_from_dataframe
from dfloader.legacy.iterator import DataFrameIterator

install()  # scripts of that time call model.fit_generator

__all__ = ["DataFrameIterator", "ImageDataGenerator", "flow_from_dataframe"]
