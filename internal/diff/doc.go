// Package diff says what differs between two states of a platform: two
// revisions, two environments, or one of each.
//
// It compares what comes of the files, not the files: the components and their
// places, the order that follows, the edges with their evidence, the rendered
// objects field by field, the expected time, and what a failure of a component
// would stop. What could not be rendered on one side is not compared, and said.
//
// A comparison is symmetric: the other way round it is the same with both sides
// exchanged. Values that may be secret are never part of it; see hidden.
package diff
