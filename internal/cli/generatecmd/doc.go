// Package generatecmd is the command "ladder generate": it reads, renders and
// plans a platform, makes its Argo CD objects, and writes them below one folder
// or compares them with what lies there.
//
// The folder of an environment is made beside its place and put there in one
// step, with everything in it that is not Ladder's. A run that is killed leaves
// either the old folder or the new one.
package generatecmd
