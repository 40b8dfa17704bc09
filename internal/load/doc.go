// Package load reads a platform whole: intake, then render, then infer.
package load
