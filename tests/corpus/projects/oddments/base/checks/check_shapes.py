import unittest

from oddments import shapes


class Shapes(unittest.TestCase):
    def test_pair(self):
        self.assertEqual(shapes.pair("a=b"), ("a", "b"))
