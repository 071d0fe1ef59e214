import type { Config } from '../../platform/config/config.ts'
import { createHcaptcha } from './hcaptcha.ts'
import type { CaptchaService } from './port.ts'
import { createTurnstile } from './turnstile.ts'

/**
 * Makes what the settings name.
 * @param choice The kind, with its keys where it is a service.
 * @returns `Default` for the one that the gateway draws itself.
 */
export function chooseCaptcha(choice: Config['captcha']): 'Default' | 'none' | CaptchaService {
  switch (choice.kind) {
    case 'turnstile':
      return createTurnstile(choice)
    case 'hcaptcha':
      return createHcaptcha(choice)
    case 'default':
      return 'Default'
    case 'none':
      return 'none'
  }
}
