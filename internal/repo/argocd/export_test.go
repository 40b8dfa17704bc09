package argocd

// LimitValues lowers the limit on values until done is called.
func LimitValues(to int64) (done func()) {
	before := maxValues
	maxValues = to
	return func() { maxValues = before }
}
