package lint

// Rules lists the rules that judge an Input.
func Rules() []Rule {
	return nil
}
