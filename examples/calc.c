/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small calculator to record: two threads take expressions from a queue, parse them by recursive
 * descent and evaluate what they parsed. `make demo` builds and records it.
 *
 *	cc $(sonde cflags) examples/calc.c -o calc -lpthread
 *	sonde record ./calc '1 + 2 * 3' '(4 - 1) ^ 5'
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* A node of a parsed expression: a number, or a sign with two sides. */
struct node {
	char sign;
	double value;
	struct node *left, *right;
};

struct parser {
	const char *next;
	int failed;
};

static struct node *parse_sum(struct parser *parser);

static struct node *make_node(char sign, double value, struct node *left, struct node *right)
{
	struct node *node = malloc(sizeof(*node));

	if (!node)
		abort();
	*node = (struct node){ sign, value, left, right };
	return node;
}

static void free_node(struct node *node)
{
	if (!node)
		return;
	free_node(node->left);
	free_node(node->right);
	free(node);
}

/* Steps over spaces, and over the letter where it is one of those asked for; 0 where not. */
static char take(struct parser *parser, const char *letters)
{
	while (isspace((unsigned char)*parser->next))
		parser->next++;
	for (; *letters; letters++)
		if (*parser->next == *letters)
			return *parser->next++;
	return 0;
}

static struct node *parse_number(struct parser *parser)
{
	char *end;
	double value = strtod(parser->next, &end);

	parser->failed |= end == parser->next;
	parser->next = end;
	return make_node(0, value, NULL, NULL);
}

static struct node *parse_atom(struct parser *parser)
{
	struct node *inner;

	if (!take(parser, "("))
		return parse_number(parser);
	inner = parse_sum(parser);
	parser->failed |= !take(parser, ")");
	return inner;
}

static struct node *parse_power(struct parser *parser)
{
	struct node *left = parse_atom(parser);

	return take(parser, "^") ? make_node('^', 0, left, parse_power(parser)) : left;
}

static struct node *parse_product(struct parser *parser)
{
	struct node *left = parse_power(parser);
	char sign;

	while ((sign = take(parser, "*/")))
		left = make_node(sign, 0, left, parse_power(parser));
	return left;
}

static struct node *parse_sum(struct parser *parser)
{
	struct node *left = parse_product(parser);
	char sign;

	while ((sign = take(parser, "+-")))
		left = make_node(sign, 0, left, parse_product(parser));
	return left;
}

static double power(double base, double exponent)
{
	return exponent < 1 ? 1 : base * power(base, exponent - 1);
}

static double evaluate(const struct node *node)
{
	switch (node->sign) {
	case '+':
		return evaluate(node->left) + evaluate(node->right);
	case '-':
		return evaluate(node->left) - evaluate(node->right);
	case '*':
		return evaluate(node->left) * evaluate(node->right);
	case '/':
		return evaluate(node->left) / evaluate(node->right);
	case '^':
		return power(evaluate(node->left), evaluate(node->right));
	default:
		return node->value;
	}
}

static void calculate(const char *text)
{
	struct parser parser = { text, 0 };
	struct node *node = parse_sum(&parser);

	if (parser.failed || take(&parser, "") || *parser.next)
		printf("%s: cannot read this\n", text);
	else
		printf("%s = %g\n", text, evaluate(node));
	free_node(node);
}

/* The expressions, and the next one that nobody has taken. */
static char **queue;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *next_expression(void)
{
	const char *text;

	pthread_mutex_lock(&queue_lock);
	text = *queue;
	queue += text != NULL;
	pthread_mutex_unlock(&queue_lock);
	return text;
}

static void *worker(void *unused)
{
	const char *text;

	while ((text = next_expression()))
		calculate(text);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int i;

	(void)argc;
	queue = argv + 1;
	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			return 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
