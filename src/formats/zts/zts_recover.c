#include "formats/zts/zts_read.h"
enum sonde_status zts_recover(const char *path, const char *output,
			      const struct sonde_recover_options *options,
			      struct sonde_diagnostics *diagnostics,
			      struct sonde_recover_result *result, struct sonde_error *err)
{
	(void)path, (void)output, (void)options, (void)diagnostics, (void)result;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "later");
}
