import * as z from 'zod'

// Zod writes code at run time where it may; the content policy forbids that, so it is told not to try. This
// module shares a chunk with zod (vite.config.ts), so that no schema is made before it ran.
z.config({ jitless: true })
