"""The pages of docs/qualification that follow from the code and the tests."""
