"""Purchase: can the hosts be bought like this, in this region and within the quotas of an account?"""
