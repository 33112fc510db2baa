import unittest

from inkwell.spans import length, merge


class Merge(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(merge([]), [])

    def test_overlapping(self):
        self.assertEqual(merge([[1, 4], [2, 6], [8, 9]]), [[1, 6], [8, 9]])

    def test_touching(self):
        self.assertEqual(merge([[1, 2], [2, 3]]), [[1, 3]])

    def test_length(self):
        self.assertEqual(length([[0, 2], [5, 6]]), 3)
