from reading.__main__ import shown


def test_a_list_names_title_and_author() -> None:
    assert shown("list", "books.json").splitlines()[0] == "The Dispossessed, Ursula K. Le Guin"
