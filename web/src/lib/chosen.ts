// Runs that were chosen, as the address keeps them: ids, and where a run's colour is not the one
// that follows from its id, which it has. So a run keeps its colour when others come and go. Pure.
import {type Slot, kSlots, slotOf} from "./colours";

export interface Picked {
  id: string;
  slot: number; // 0..kSlots * 3 - 1: the colour, and after all twelve are taken the dash
}

export const kMostPicked = 200; // the most that the API charts in one call
const kAll = kSlots * 3;

export const asSlot = (slot: number): Slot => ({
  colour: slot % kSlots,
  dash: Math.floor(slot / kSlots) % 3,
});

// Its own colour, or the next that is free: all twelve before the first dash.
function free(id: string, taken: ReadonlySet<number>): number {
  const own = slotOf(id);
  for (let dash = 0; dash < kAll / kSlots; dash += 1)
    for (let step = 0; step < kSlots; step += 1) {
      const slot = dash * kSlots + ((own + step) % kSlots);
      if (!taken.has(slot)) return slot;
    }
  return own;
}

// "ID.ID~5.ID"; commas do as well. Those that name no colour have their own, or the next free one.
export function picked(text: string | undefined): Picked[] {
  const words = new Map<string, number | undefined>();
  for (const word of (text ?? "").split(/[.,]/)) {
    const [id = "", slot] = word.trim().split("~");
    if (id === "" || words.has(id) || words.size === kMostPicked) continue;
    const number = slot === undefined ? NaN : Number(slot);
    words.set(id, Number.isInteger(number) && number >= 0 && number < kAll ? number : undefined);
  }
  const taken = new Set([...words.values()].filter((slot) => slot !== undefined));
  return [...words].map(([id, given]) => {
    const slot = given ?? free(id, taken);
    taken.add(slot);
    return {id, slot};
  });
}

export function written(all: readonly Picked[]): string | undefined {
  const words = all.map(({id, slot}) => (slot === slotOf(id) ? id : `${id}~${slot}`));
  return words.length > 0 ? words.join(".") : undefined;
}

// Those that stay keep their colours.
export function changed(old: readonly Picked[], ids: Iterable<string>): Picked[] {
  const wanted = new Set(ids);
  const made = old.filter((one) => wanted.delete(one.id));
  const taken = new Set(made.map((one) => one.slot));
  for (const id of wanted) {
    if (made.length === kMostPicked) break;
    const slot = free(id, taken);
    taken.add(slot);
    made.push({id, slot});
  }
  return made;
}
