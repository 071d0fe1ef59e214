import { PAGE_LOAD_RETRIES, PAGE_LOAD_RETRY_DELAY_MS } from '@berth/contract/limits'

/**
 * Loads a page's code, and tries again when that fails (R2.9): a lost packet must not cost a page.
 * @param load Imports the module.
 * @param pauseMs Between two tries.
 * @returns The module.
 * @throws The last failure, after five more tries.
 */
export async function loadPage<Module>(
  load: () => Promise<Module>,
  pauseMs: number = PAGE_LOAD_RETRY_DELAY_MS,
): Promise<Module> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await load()
    } catch (error) {
      if (tries >= PAGE_LOAD_RETRIES) throw error
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }
}
