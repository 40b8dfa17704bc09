// Package infer derives the edges of a platform: what each component requires
// of others, declared in descriptors or read from rendered objects, always with
// evidence.
//
// What a family of capabilities provides and requires is in a file of its own
// (namespaces.go, secrets.go, webhooks.go, ...); families.go lists them. A
// family looks at one object at a time and says what it provides and what it
// needs; the index then finds the component that provides what another needs.
//
// The rule for every family is that it must be certain: a field whose meaning
// is not known, or a provider that is not in the repository, gives no edge.
package infer
