package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// report counts what is equal, and lists what is not.
type report struct {
	applications, objects count
	// random are objects that Argo CD makes differently each time.
	random int
	// assumed are Applications whose parameters are not in the repository; elsewhere
	// those with a source in another one; unrendered those that neither side can render;
	// refused those of which Ladder tells that Argo CD does not build them; behind those of
	// a parent that Argo CD cannot render and Ladder renders a part of.
	assumed, elsewhere, unrendered, refused, behind int
	// unknown are ApplicationSets that Argo CD cannot run here and of which Ladder tells
	// that it does not know what they make.
	unknown     int
	differences []difference

	// read are the names of all environments; others are what Argo CD alone has.
	read   map[string]bool
	others []difference
}

type count struct{ equal, different int }

// difference is one thing that Ladder reads otherwise.
type difference struct {
	environment, application, what string
}

func (d difference) String() string {
	return fmt.Sprintf("%s %s: %s", d.environment, d.application, d.what)
}

// finish counts what only Argo CD has: an ApplicationSet makes the Applications of all
// environments, of which Ladder reads each on its own.
func (r *report) finish() {
	told := map[string]bool{}
	for _, d := range r.others {
		if !r.read[d.application] && !told[d.application] {
			told[d.application] = true
			r.applications.different++
			r.differences = append(r.differences, d)
		}
	}
	slices.SortStableFunc(r.differences, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.application, b.application), cmp.Compare(a.what, b.what))
	})
}

// print writes the differences, then the counts in a line.
func (r *report) print(out io.Writer, name string) {
	for _, d := range r.differences {
		fmt.Fprintf(out, "  %s\n", d)
	}
	fmt.Fprintf(out, "%s: Applications %d equal, %d different; objects %d equal, %d different; %d random, %d assumed, %d elsewhere, %d neither renders, %d refused, %d behind, %d sets unknown\n",
		name, r.applications.equal, r.applications.different, r.objects.equal, r.objects.different, r.random, r.assumed, r.elsewhere, r.unrendered, r.refused, r.behind, r.unknown)
}

// first is the first line of a text, 300 characters of it. What a program says of its
// failure comes behind all of its arguments.
func first(text string) string {
	if _, said, ok := strings.Cut(text, "` failed exit status 1: "); ok {
		text = said
	}
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > 300 {
		line = line[:300] + "…"
	}
	return line
}
