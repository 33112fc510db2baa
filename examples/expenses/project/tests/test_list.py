from expenses.__main__ import shown


def test_a_list_says_who_paid_what_for_whom() -> None:
    assert shown("list", "flat.json").splitlines()[0] == "Ann paid 30.00 for Ann, Ben, Cem"
