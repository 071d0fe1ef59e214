import { OtherServicesCard } from './OtherServicesCard.tsx'
import { PasswordCard } from './PasswordCard.tsx'

/** The ways into the account: a password, and other services. */
export function SignInSection() {
  return (
    <>
      <PasswordCard />
      <OtherServicesCard />
    </>
  )
}
