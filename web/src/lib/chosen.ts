// Runs that were chosen, as the address keeps them: ids, and where a colour does not follow from
// them, which each has. So a run keeps its colour when others come and go. Pure.
import {type Slot, freeColour, kSlots, slotOf} from "./colours";

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
  for (let dash = 0; dash < kAll; dash += kSlots) {
    const mine = [...taken].filter((slot) => slot >= dash && slot < dash + kSlots);
    const colour = freeColour(own, new Set(mine.map((slot) => slot - dash)));
    if (colour !== undefined) return dash + colour;
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

// Ids alone where their colours follow from them.
export function written(all: readonly Picked[]): string | undefined {
  if (all.length === 0) return undefined;
  const ids = all.map((one) => one.id).join(".");
  const follows = picked(ids).every((one, i) => one.slot === all[i]?.slot);
  return follows ? ids : all.map(({id, slot}) => `${id}~${slot}`).join(".");
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
