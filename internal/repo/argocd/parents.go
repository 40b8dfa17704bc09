package argocd

import "path"

// parentsElsewhere are the folders of parents that are not in the repository, by the
// folders of what they apply. Applications that lie together in a folder and have sync
// waves are taken for the children of one: without a parent their waves would mean
// nothing. The wave of an Application that is alone in its folder is one among those of
// the folders around it.
func parentsElsewhere(roots []entry) map[string]string {
	parents, holds := map[string]string{}, map[string]int{}
	for _, root := range roots {
		d := root.document
		if d.value == nil || d.chart != nil || root.byHand {
			continue
		}
		dir := path.Dir(d.position().File)
		holds[dir]++
		if writtenWave(d).Written != "" {
			parents[dir] = dir
		}
	}
	lone := func(dir string) bool { return parents[dir] != "" && holds[dir] == 1 }
	beside := map[string]int{}
	for dir := range parents {
		if lone(dir) && folderEnvironment(dir) == folderEnvironment(path.Dir(dir)) {
			beside[path.Dir(dir)]++
		}
	}
	for dir := range parents {
		if !lone(dir) {
			continue
		}
		for above := dir; above != "."; {
			above = path.Dir(above)
			if folderEnvironment(above) != folderEnvironment(dir) {
				break
			}
			if parents[above] != "" || above == path.Dir(dir) && beside[above] > 1 {
				parents[dir] = above
			}
		}
	}
	return parents
}
