// Command release packs builds of ladder: into an image for the clusters whose
// smokes it runs, and into archives. The same builds give the same bytes. Nothing
// runs a container, and Docker is not needed.
//
//	cd tools && go run ./release image -binaries ../bin/release -output ../bin/image
//	cd tools && go run ./release archives -binaries ../bin/release -output ../bin/archives
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:], os.Stdout); err != nil {
		log.Fatalf("release: %v", err)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to make: image or archives")
	}
	var in source
	var seconds int64
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.StringVar(&in.binaries, "binaries", "../bin/release", "folder with the builds: <os>-<architecture>/ladder")
	f.StringVar(&in.top, "top", "..", "top of the repository, where the licences are")
	f.StringVar(&in.version, "version", "dev", "version of the builds")
	f.StringVar(&in.revision, "revision", "", "commit of the builds")
	f.Int64Var(&seconds, "time", 0, "when that was committed, in seconds since 1970")
	output := f.String("output", "", "folder that is written anew")
	push := f.String("push", "", "where the image is pushed to as well, such as registry.example.com/ladder:0.1.0")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	in.time = time.Unix(seconds, 0).UTC()
	switch {
	case args[0] != "image" && args[0] != "archives":
		return fmt.Errorf("%q is neither image nor archives", args[0])
	case *output == "":
		return errors.New("say with -output which folder is written")
	}
	builds, err := in.builds()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(*output); err != nil {
		return err
	}
	if err := os.MkdirAll(*output, 0o755); err != nil {
		return err
	}
	if args[0] == "image" {
		return image(in, builds, *output, *push, out)
	}
	return archives(in, builds, *output, out)
}
