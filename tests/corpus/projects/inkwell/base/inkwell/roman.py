def to_roman(number):
    raise NotImplementedError
