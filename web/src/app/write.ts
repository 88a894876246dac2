// A change that is sent to the server, and what it makes stale: the first parts of query keys.
import {type UseMutationResult, useMutation, useQueryClient} from "@tanstack/react-query";

export function useWrite<Input, Output>(
  write: (input: Input) => Promise<Output>,
  stale: string[],
  done?: (output: Output, input: Input) => void,
): UseMutationResult<Output, Error, Input> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: write,
    onSuccess: async (output, input) => {
      await Promise.all(stale.map((noun) => queries.invalidateQueries({queryKey: [noun]})));
      done?.(output, input);
    },
  });
}
