// Command evaluate measures the linter on public repositories: commits before
// and after somebody mended an ordering mistake.
//
// cases.yaml says what is to be found where. A case is right when the mistake is
// found at one commit and not at the other. With -findings everything else that
// is found is listed, to be judged by reading. read.yaml says what readers made of
// that, one by one; with -read the share of true ones is counted, and what nobody
// has read is listed.
//
//	go run ./test/evaluate -repositories DIR
//	go run ./test/evaluate -repositories DIR -read test/evaluate/read.yaml
//
// DIR holds a clone of every repository, named owner+name; one that is missing
// is cloned from GitHub. Nothing of the repositories is kept in this one.
package main
