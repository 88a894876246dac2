// Colours of series. A run's colour follows from its id, so that it is the same in every view and
// every tab; a run on the same chart whose slot is taken, or looks much like one that is, gets the
// next that is free.

export const kSlots = 12;
const kLight = [
  "4640a7",
  "b58629",
  "6c170e",
  "4c9ea2",
  "697056",
  "a46bf5",
  "6b5262",
  "b4410d",
  "3d7295",
  "5b1c57",
  "ee4a73",
  "244137",
];
const kDark = [
  "608cd5",
  "d1f339",
  "c7aa9b",
  "8cffa7",
  "6e806a",
  "6159e1",
  "7f697d",
  "e58212",
  "62bbf5",
  "e9daf6",
  "cc243d",
  "9d9bb6",
];
// After all twelve are taken: dashes, then dots.
export const kDashes: number[][] = [[], [8, 4], [2, 3]];

export interface Slot {
  colour: number; // 0..11
  dash: number; // 0 solid, 1 dashed, 2 dotted
}

function hash(text: string): number {
  let value = 2166136261; // FNV-1a
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

// The colour that a run has wherever nothing else has it.
export const slotOf = (id: string): number => hash(id) % kSlots;

// Colours less than 25 apart (CIEDE2000) in one of the themes, each pair by its lower number: thin
// lines of these are told apart with care, so they do not lie on one chart while there are others.
const kNear: Record<number, number[]> = {
  0: [5, 6, 8, 9, 11],
  1: [3, 4],
  2: [6, 7, 9, 11],
  3: [4, 8],
  4: [11],
  5: [6, 8],
  6: [9, 11],
  8: [11],
  9: [11],
};
const isNear = (a: number, b: number) => kNear[Math.min(a, b)]?.includes(Math.max(a, b)) ?? false;

// `own`, or the next colour that is not taken nor near to one that is; else the next not taken.
export function freeColour(own: number, taken: ReadonlySet<number>): number | undefined {
  const free = Array.from({length: kSlots}, (_, step) => (own + step) % kSlots).filter(
    (colour) => !taken.has(colour),
  );
  return free.find((colour) => ![...taken].some((other) => isNear(colour, other))) ?? free[0];
}

// A slot for each id, in the order given; the same ids in the same order give the same slots.
export function slots(ids: readonly string[]): Map<string, Slot> {
  const taken = new Set<number>();
  const made = new Map<string, Slot>();
  for (const id of ids) {
    const round = Math.min(kDashes.length - 1, Math.floor(made.size / kSlots));
    if (made.size % kSlots === 0) taken.clear();
    const own = slotOf(id);
    const colour = freeColour(own, taken) ?? own;
    taken.add(colour);
    made.set(id, {colour, dash: round});
  }
  return made;
}

export function colour_of(slot: Slot, dark: boolean): string {
  return `#${(dark ? kDark : kLight)[slot.colour]}`;
}
