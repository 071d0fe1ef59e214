import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'
import type { LinkMailValues } from './link-mail-values.ts'

/** The texts of the mail that lets somebody choose a new password. */
export const RESET_TEXTS: Record<Language, MailText<LinkMailValues>> = {
  en: {
    subject: ({ brand }) => `Choose a new ${brand} password`,
    body: ({ brand, link, hours }) => [
      'Hello,',
      `Someone asked for a new password for the ${brand} account with this email address. To choose one, please open this link:`,
      link,
      `The link works once, within ${hours} h. The new password ends every session of the account.`,
      'If you did not ask for it, please ignore this mail: your password stays as it is.',
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `设置新的 ${brand} 密码`,
    body: ({ brand, link, hours }) => [
      '您好！',
      `有人为使用此邮箱地址的 ${brand} 账户申请了新密码。请打开以下链接设置：`,
      link,
      `该链接在 ${hours} 小时内有效，且只能使用一次。设置新密码后，该账户的所有会话都将结束。`,
      '如果不是您本人申请，请忽略此邮件，您的密码不会改变。',
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} の新しいパスワードの設定`,
    body: ({ brand, link, hours }) => [
      'こんにちは。',
      `このメールアドレスの ${brand} アカウントについて、新しいパスワードの設定が求められました。設定するには、次のリンクを開いてください。`,
      link,
      `リンクの有効期限は ${hours} 時間で、使用できるのは 1 回だけです。新しいパスワードを設定すると、すべてのセッションが終了します。`,
      'お心当たりがない場合は、このメールを無視してください。パスワードは変わりません。',
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `새 ${brand} 비밀번호를 설정해 주세요`,
    body: ({ brand, link, hours }) => [
      '안녕하세요.',
      `이 이메일 주소의 ${brand} 계정에 대해 새 비밀번호 설정이 요청되었습니다. 설정하려면 아래 링크를 열어 주세요.`,
      link,
      `이 링크는 ${hours}시간 이내에 한 번만 사용할 수 있습니다. 새 비밀번호를 설정하면 계정의 모든 세션이 종료됩니다.`,
      '본인이 요청하지 않았다면 이 메일을 무시해 주세요. 비밀번호는 바뀌지 않습니다.',
      brand,
    ],
  },
}

/**
 * The mail that holds the link to choose a new password.
 * @param to The account's address.
 * @param language The customer's.
 */
export function resetMail(to: string, language: Language, values: LinkMailValues): MailContent {
  return writeMail(to, RESET_TEXTS[language], values)
}
