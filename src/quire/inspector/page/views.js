// The views of a conversation in the order of their tabs. One without a tab is reached from another.

import { Requests } from "quire/cache.js";
import { Compactions } from "quire/compactions.js";
import { Conversations } from "quire/conversations.js";
import { Faults } from "quire/files.js";
import { Transcript } from "quire/conversation.js";
import { Request } from "quire/request.js";
import { Steps } from "quire/steps.js";
import { WhatIf } from "quire/what_if.js";

export { Conversations };

export const VIEWS = [
  { name: "transcript", tab: "Transcript", view: Transcript },
  { name: "requests", tab: "Requests", view: Requests },
  { name: "request", under: "requests", view: Request },
  { name: "compactions", tab: "Compactions", view: Compactions },
  { name: "steps", tab: "Tools", view: Steps },
  { name: "what-if", tab: "What if", view: WhatIf },
  { name: "faults", tab: "Faults", view: Faults, isFor: (source) => source?.is_file },
];
