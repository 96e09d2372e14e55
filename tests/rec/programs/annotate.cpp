/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations of C++: exceptions through scopes, templates, temporaries. */
#include <sonde/annotate.h>
#include <stdexcept>
#include <string.h>

#include "rec.h"

/* A text that is gone with its object, as that of a std::string. */
class text
{
      public:
	text(size_t length, char letter) : bytes(new char[length + 1]), count(length)
	{
		memset(bytes, letter, length);
		bytes[length] = 0;
	}
	~text()
	{
		memset(bytes, '?', count);
		delete[] bytes;
	}
	text(const text &) = delete;
	text &operator=(const text &) = delete;
	const char *c_str() const
	{
		return bytes;
	}
	size_t size() const
	{
		return count;
	}

      private:
	char *bytes;
	size_t count;
};

enum class colour : short { red = 1, green = 2 };

FN static void thrower(int depth)
{
	SONDE_SCOPE("thrower", SONDE_ARG(depth));
	if (!depth)
		throw std::runtime_error("thrown");
	thrower(depth - 1);
	TOUCH();
}

FN static void catcher()
{
	SONDE_SCOPE("catcher");
	try {
		SONDE_SCOPE("tried");
		thrower(2);
	} catch (const std::exception &error) {
		SONDE_EVENT("caught", SONDE_ARG(error.what()));
	}
	SONDE_EVENT("after");
}

static int evaluated;

QUIET static int count_evaluations(int value)
{
	evaluated++;
	return value;
}

template <class T> FN void show(T value)
{
	SONDE_EVENT("shown", SONDE_ARG(value), SONDE_STR_AS("temporary", text(16, 't').c_str()));
}

int main()
{
	const text words(5000, 's');
	auto lambda = [&](int i) {
		SONDE_SCOPE("lambda", SONDE_I32_AS("i", count_evaluations(i)),
			    SONDE_ARG(words.size()));
		SONDE_EVENT("long", SONDE_ARG(words.c_str()));
	};

	for (int i = 0; i < 3; i++)
		catcher();
	show(1);
	show(2.5);
	show("three");
	show(colour::green);
	show(nullptr);
	show(true);
	lambda(4);
	return evaluated != (getenv("SONDE_RECORDER") != nullptr);
}
