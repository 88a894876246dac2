// A change that is sent to the server, and what it makes stale: the first parts of query keys.
import {type UseMutationResult, useMutation, useQueryClient} from "@tanstack/react-query";
import {useNavigate} from "@tanstack/react-router";

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

// Deletes what the view shows: first away from it, so that nobody asks for what is gone.
export function useDelete(
  write: () => Promise<unknown>,
  stale: string[],
  to: string,
): UseMutationResult<unknown, Error, void> {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: write,
    onSuccess: async () => {
      await navigate({to: to as never});
      for (const noun of stale) void queries.invalidateQueries({queryKey: [noun]});
    },
  });
}
