// Package patch carries out the edits that findings propose: it turns them into
// new text of YAML files and unified diffs, and writes files so that either all
// of them change or none.
//
// An edit changes the lines it is about and no other: comments, blank lines,
// quotes and the order of keys stay. What the text means afterwards is compared
// with what it should mean; an edit that would do anything else is refused.
package patch
