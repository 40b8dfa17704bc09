// Package ladderfile reads ladder.yaml into a plan.Ladder with every default
// filled in. docs/ladder-file.md describes the format.
package ladderfile
