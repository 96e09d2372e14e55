/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ exceptions thrown in one library, through another, caught in the program; through
 * destructors, caught and thrown again, in another thread, and (argument "uncaught") by nobody.
 */
#include <cstring>
#include <exception>
#include <pthread.h>
#include <stdexcept>

#include "exception.h"

static volatile int caught;

FN static void after()
{
	TOUCH();
}

FN static int attempt(int depth, int number)
{
	try {
		return middle(depth, number);
	} catch (const Trouble &trouble) {
		caught = caught + 1;
		after();
		return trouble.number;
	}
}

FN static int attempt_again(int depth, int number)
{
	try {
		return rethrower(depth, number);
	} catch (const Trouble &trouble) {
		caught = caught + 1;
		after();
		return trouble.number;
	}
}

/* The handler itself throws something else. */
FN static int attempt_other(int depth)
{
	try {
		try {
			return middle(depth, 1);
		} catch (const Trouble &) {
			after();
			throw std::runtime_error("other");
		}
	} catch (const std::exception &error) {
		caught = caught + 1;
		after();
		return (int)std::strlen(error.what());
	}
}

/* A destructor that runs while an exception flies catches one of its own. */
struct Nested {
	FN ~Nested()
	{
		attempt(2, 7);
	}
};

FN static int fly_over(int depth)
{
	Nested nested;

	return middle(depth, 3) + 1;
}

FN static int attempt_nested(int depth)
{
	try {
		return fly_over(depth);
	} catch (const Trouble &trouble) {
		caught = caught + 1;
		after();
		return trouble.number;
	}
}

FN static void *in_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++)
		attempt(4, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int sum = 0;

	for (int i = 0; i < 20; i++)
		sum += attempt(9, i);
	sum += attempt(9, -1);
	for (int i = 0; i < 20; i++)
		sum += attempt_again(3, i);
	for (int i = 0; i < 5; i++)
		sum += attempt_other(1);
	for (int i = 0; i < 5; i++)
		sum += attempt_nested(1);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	printf("sum %d, caught %d, destroyed %d\n", sum, caught, destroyed);
	fflush(stdout);
	if (argc > 1 && std::strcmp(argv[1], "uncaught") == 0)
		middle(3, 1);
	return 4;
}
