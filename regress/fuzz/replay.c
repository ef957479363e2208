/* Runs a target over its kept corpus, without a fuzzer: a check program in
 * every build. CORPUS is the directory; other files may be named instead. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of exactly its size, so that reading past its end is seen. */
static int
replay(const char *path)
{
	static uint8_t whole[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	uint8_t *exact;
	size_t n;

	if (!f) {
		perror(path);
		return 0;
	}
	n = fread(whole, 1, sizeof whole, f);
	fclose(f);
	exact = malloc(n ? n : 1);
	if (!exact)
		return 0;
	memcpy(exact, whole, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 1;
}

int
main(int argc, char **argv)
{
	char path[4096];
	unsigned passed = 0, failed = 0;
	struct dirent *d;
	DIR *dir;

	for (int i = 1; i < argc; i++)
		*(replay(argv[i]) ? &passed : &failed) += 1;
	dir = argc > 1 ? NULL : opendir(CORPUS);
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", CORPUS, d->d_name);
		*(replay(path) ? &passed : &failed) += 1;
	}
	if (dir)
		closedir(dir);
	printf("%s: %u passed, %u failed\n", strrchr(CORPUS, '/') + 1, passed,
	    failed);
	return failed || !passed;
}
