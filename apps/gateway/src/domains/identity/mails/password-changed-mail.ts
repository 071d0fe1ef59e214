import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'

interface Values {
  brand: string
  at: string
  /** Network address that it was done from. */
  address: string
  /** The log-in page. */
  link: string
}

/** The texts of the mail that says that there is a new password. */
export const PASSWORD_CHANGED_TEXTS: Record<Language, MailText<Values>> = {
  en: {
    subject: ({ brand }) => `The password of your ${brand} account was changed`,
    body: ({ brand, at, address, link }) => [
      'Hello,',
      `Your ${brand} account has a new password since ${at}. It was set from the network address ${address}.`,
      'If it was you, there is nothing to do. If it was not, choose a new one now by “Forgot password” on the log-in page. That ends every session of the account:',
      link,
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `您的 ${brand} 账户密码已更改`,
    body: ({ brand, at, address, link }) => [
      '您好！',
      `您的 ${brand} 账户已于 ${at} 设置新密码，操作来自网络地址 ${address}。`,
      '如果是您本人操作，无需任何处理。如果不是，请立即在登录页面通过“忘记密码”重新设置密码，此操作会结束该账户的所有会话：',
      link,
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} アカウントのパスワードが変更されました`,
    body: ({ brand, at, address, link }) => [
      'こんにちは。',
      `${at} に、${brand} アカウントに新しいパスワードが設定されました。設定元のネットワークアドレスは ${address} です。`,
      'ご本人であれば、何もする必要はありません。お心当たりがない場合は、ログイン画面の「パスワードをお忘れですか」から、すぐに新しいパスワードを設定してください。アカウントのすべてのセッションが終了します。',
      link,
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `${brand} 계정의 비밀번호가 변경되었습니다`,
    body: ({ brand, at, address, link }) => [
      '안녕하세요.',
      `${at}에 ${brand} 계정에 새 비밀번호가 설정되었습니다. 설정한 네트워크 주소는 ${address}입니다.`,
      '본인이라면 아무것도 하지 않으셔도 됩니다. 본인이 아니라면 로그인 페이지의 “비밀번호 찾기”로 지금 바로 새 비밀번호를 설정해 주세요. 그러면 계정의 모든 세션이 종료됩니다.',
      link,
      brand,
    ],
  },
}

/**
 * The mail that says that there is a new password.
 * @param to The account's address.
 * @param language The customer's.
 */
export function passwordChangedMail(to: string, language: Language, values: Values): MailContent {
  return writeMail(to, PASSWORD_CHANGED_TEXTS[language], values)
}
