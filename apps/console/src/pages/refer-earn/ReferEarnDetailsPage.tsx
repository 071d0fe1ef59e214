import { ReferEarn } from './ReferEarnPage.tsx'

/** Rebate details (R2.28): the page of refer and earn, opened at who was invited and what was earned. */
export function Page() {
  return <ReferEarn atLists />
}
