/* SPDX-License-Identifier: Apache-2.0 */
/* Names that must be demangled: templates, lambdas, operators, namespaces, overloads. */
#include "rec.h"

int other_static();

namespace outer
{
namespace
{
struct Pair {
	int left, right;
	FN Pair operator+(const Pair &other) const
	{
		TOUCH();
		return Pair{ left + other.left, right + other.right };
	}
};
} // namespace

template <typename T, int N> struct Box {
	T value;
	FN T scaled() const
	{
		TOUCH();
		return value * N;
	}
};
} // namespace outer

template <typename T> FN T twice(T value)
{
	TOUCH();
	return value + value;
}

FN static int overloaded(int value)
{
	TOUCH();
	return value;
}

FN static int overloaded(const char *text)
{
	TOUCH();
	return text[0];
}

/* Of the same name as one in names_other.cpp. */
FN static int same_name()
{
	TOUCH();
	return 1;
}

template <typename F> FN int apply(F function)
{
	int result = function(3);

	TOUCH();
	return result;
}

int main()
{
	int captured = 5;
	outer::Box<long, 7> box{ 6 };
	outer::Pair pair = outer::Pair{ 1, 2 } + outer::Pair{ 3, 4 };
	int sum = twice(2) + (int)twice(2.5) + (int)box.scaled() + pair.left + pair.right;

	sum += overloaded(1) + overloaded("text");
	sum += same_name() + other_static();
	sum += apply([captured](int value) __attribute__((noinline)) {
		TOUCH();
		return captured + value;
	});
	printf("sum %d\n", sum);
	return 0;
}
